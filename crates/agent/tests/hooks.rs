//! The committed classes of the hook class are what the compiler makes of its source.

#[path = "compiled/mod.rs"]
mod compiled;

#[test]
fn the_committed_classes_are_what_the_compiler_makes_of_the_source() {
    compiled::check("atomvet-agent", &[]);
}
