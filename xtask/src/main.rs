//! The developers' commands: `cargo xtask ci`, `oracle`, `bench`, `bless`.
fn main() {}
