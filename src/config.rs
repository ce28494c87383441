//! tyran's own configuration in layers; a repository's layer may only tighten.
