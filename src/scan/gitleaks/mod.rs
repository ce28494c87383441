//! The real gitleaks as a second engine, driven so that what it did not read is noticed.
