//! Hosts: their events in, verdicts out in their own words.
//!
//! Promise: every ending of a gate is a decision. What a host understands is data (`hosts.toml`, read
//! strictly by [`table`]); [`event`] reads what it asks, [`emit`] writes what it is told, and
//! [`runtime`] sees to it that exactly one answer is written, in full and in time. What a command
//! publishes is [`crate::command`]'s to say.

pub mod child;
pub mod emit;
pub mod event;
pub mod runtime;
mod session;
pub mod table;
mod table_entry;
mod tools;
pub mod unseen;
