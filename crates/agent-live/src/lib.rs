//! The agent inside a JVM under test: rewrites classes as they are loaded (`crates/jvm`) and checks what they do where they do
//! it (`crates/live`).
//!
//! ```text
//! class file ──► plan: who gets hooks ──► rewritten ──► hooks/AtomvetHooks.java: one load, one compare
//!                   └──► names                             └──► natives ──► crates/live: the exact checker ──► table
//! ```
//!
//! It replaces `crates/agent` and the recorder once it passes every trial; until then what the two have in common is shared
//! by path. Loaded with `-agentpath:FILE[=OPTION,…]`, see `options.rs`. Without a run directory in the environment it does
//! nothing at all.
//!
//! What it promises the program: the same output, exceptions and exit status as without it. What cannot be rewritten is left
//! as it was and named; what cannot be done is said in one line, and the program goes on.

pub(crate) use atomvet_ring as ring;
pub(crate) use atomvet_ring::sys;

#[path = "../../agent/src/calls.rs"]
mod calls;
#[path = "../../agent/src/effects.rs"]
mod effects;
#[path = "../../agent/src/facts.rs"]
mod facts;
mod hook_classes;
mod host;
#[path = "../../agent/src/jni.rs"]
mod jni;
#[path = "../../agent/src/juc.rs"]
mod juc;
mod juc_natives;
#[path = "../../agent/src/load.rs"]
mod load;
#[path = "../../agent/src/names.rs"]
mod names;
mod natives;
mod objects;
#[path = "../../agent/src/options.rs"]
mod options;
#[path = "../../agent/src/plan.rs"]
mod plan;
mod process;
#[path = "../../agent/src/roles.rs"]
mod roles;
mod stripes;
mod thread;
#[path = "../../agent/src/vm.rs"]
mod vm;
