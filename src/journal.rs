//! What was asked and answered, append-only and without secrets. Never able to change a verdict.
