//! The agent inside a watched JVM: rewrites classes as they are loaded (`crates/jvm`) and records what they do
//! (`crates/recorder`).
//!
//! ```text
//! class file ──► plan: who gets hooks ──► rewritten ──► hooks/AtomvetHooks.java: nearly all ends here
//!                   └──► names                             └──► natives ──► recorder ──► ring ──► the command
//! ```
//!
//! Loaded with `-agentpath:FILE[=OPTION,…]`, see `options.rs`. Without a directory for records in the environment
//! ([`ring::DIRECTORY`]) it does nothing at all, so that it may be in `JAVA_TOOL_OPTIONS` of whatever a build tool
//! starts.
//!
//! What it promises the program: the same output, exceptions and exit status as without it. What cannot be rewritten is left
//! as it was and named; what cannot be done is said in one line, and the program goes on.

use atomvet_recorder::{
    atomics, blocks, handover, late, lock, planes, process, ring, shadow, stream, sys, thread,
};

mod calls;
mod effects;
mod facts;
mod hook_classes;
mod host;
mod jni;
mod juc;
#[path = "juc/natives.rs"]
mod juc_natives;
mod load;
mod names;
mod natives;
mod options;
mod plan;
mod roles;
mod under_way;
mod vm;
