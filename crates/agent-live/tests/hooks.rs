//! The committed classes of the hook class are what the compiler makes of its source.

#[path = "../../agent/tests/compiled/mod.rs"]
mod compiled;

#[test]
fn the_committed_classes_are_what_the_compiler_makes_of_the_source() {
    let shared =
        ["AtomvetCalls", "AtomvetFields"].map(|name| format!("../../../agent/src/hooks/{name}.java"));
    compiled::check("atomvet-agent-live", &shared.each_ref().map(String::as_str));
}
