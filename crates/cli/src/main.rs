//! The `atomvet` command.
fn main() {}
