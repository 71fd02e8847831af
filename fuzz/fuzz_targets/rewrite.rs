//! Whatever the bytes are, rewriting them as a class file does not panic; with nothing inserted they stay the same;
//! and a class with hooks in it can be read again.
//! `cargo +nightly fuzz run rewrite fuzz/corpus/rewrite crates/jvm/tests/classes -- -max_len=8192`
#![no_main]

use atomvet_jvm::{ClassFile, Effect, MemberRef, Method, Options, Order, Plan, Site, Wanted, rewrite, unchanged};
use libfuzzer_sys::fuzz_target;

/// All hooks, with numbers of every size.
struct Everywhere(u32);

impl Plan for Everywhere {
    fn method(&mut self, _: &Method<'_>) -> Wanted {
        Wanted::ALL
    }

    fn site(&mut self, _: &Site<'_>) -> Option<u32> {
        self.0 += 1000;
        Some(self.0)
    }

    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        if method.name.len() % 2 == 0 { Effect::Read } else { Effect::Anything }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(class) = ClassFile::parse(bytes) else { return };
    assert_eq!(class.write().as_deref(), Ok(bytes));
    if let Ok((same, _)) = unchanged(bytes) {
        assert_eq!(same, bytes);
    }
    for order in [Order::Around, Order::Before] {
        let options = Options { hook_class: "java/lang/Hooks", order };
        let Ok(rewritten) = rewrite(bytes, options, &mut Everywhere(0)) else { continue };
        if let Some(after) = rewritten.bytes {
            let (same, errors) = unchanged(&after).expect("what was rewritten can be read");
            assert_eq!(same, after);
            assert!(errors.len() <= rewritten.left_alone.len(), "{errors:?}");
        }
    }
});
