//! git's own hooks as the second layer.
