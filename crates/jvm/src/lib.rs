//! JVM programs under the checker: a class-file rewriter that inserts calls of hooks and changes nothing else.
//!
//! ```text
//!  class file ──► class ──► code ──► constructor ──► rewrite ──► relocate ──► class file
//!                 pool               where `this`    asks the    layout, frames, tables:
//!                                    is initialised  plan; hooks  everything in its new place
//! ```
//!
//! No stack map frame is ever computed: what is inserted is straight-line code without locals that leaves the operand
//! stack as it found it, so that the frames that are there only have to move. `relocate.rs` says how, and which two
//! kinds of new frames follow from those.
//!
//! Nothing here panics on any input, reads files or depends on other crates: it runs inside of somebody else's JVM.

mod bytes;
mod class;
mod code;
mod constructor;
mod frames;
mod hooks;
mod instruction;
mod layout;
mod opcode;
mod pool;
mod relocate;
mod rewrite;
mod sites;
mod tables;

pub use bytes::{Error, Fault};
pub use class::{Attribute, ClassFile, Member};
pub use code::{Code, Handler};
pub use hooks::Order;
pub use pool::{MemberRef, Pool};
pub use rewrite::{LeftAlone, Options, Rewritten, rewrite, unchanged};
pub use sites::{
    AddedField, ClassShape, Effect, Field, FieldFlags, FieldKind, Method, Plan, Site, Wanted, What,
};
