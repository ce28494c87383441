//! Hosts: their events in, verdicts out in their own words.
