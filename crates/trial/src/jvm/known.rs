//! What the recorder is known to get wrong, each with a small program. Random programs do without it until it is right: then
//! it is switched on here, and stays on.

/// Something that programs may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feature {
    /// `compute` and `merge` of a concurrent map that replace a value.
    ReplacingComputations,
    /// A class initialiser that writes static fields of another class.
    InitialiserWritesStatics,
    /// Objects that reach another thread through an `AtomicReference` of the JDK: the first thread that uses such an object is
    /// taken for its maker, and what it did before others came is not seen. `update` is violated, and nothing is found, not
    /// even in a recording of everything.
    ///
    /// ```text
    /// static final AtomicReference<Box> box = new AtomicReference<>(new Box());
    /// T1: void update() { box.get().v++;                                 other++; }
    /// T2:                                void update() { box.get().v++; … other++; }
    /// ```
    ObjectsInAtomicReferences,
    /// Class initialisers, where waits split blocks: a block is split at one that accesses something shared, but today only if
    /// that access is recorded. `start` is blamed in vain, because the initialiser's read is left out, and so is the split.
    ///
    /// ```text
    /// static class C { static { print(unshared); } static void touch() {} }
    /// T1: void start() { new Thread(T2).start();                     C.touch(); n.addAndGet(1); }
    /// T2:                                          n.addAndGet(1);
    /// ```
    ///
    /// The live checker takes an object that nobody has used before for the initialiser's own, and does not note the accesses of
    /// the initialiser to it. `use` is violated, and nothing is found.
    ///
    /// ```text
    /// static final Box box = new Box();    static class C { static { print(box.v); box.v++; } static void touch() {} }
    /// T1: void use() { C.touch():  r(box.v)            w(box.v) }
    /// T2:                                    w(box.v)
    /// ```
    SplitsAtInitialisers,
}

impl Feature {
    /// Whether programs have it, for the live checker or for the recorder.
    pub(crate) fn is_on(self, is_live: bool) -> bool {
        match self {
            Feature::InitialiserWritesStatics | Feature::ReplacingComputations => true,
            Feature::ObjectsInAtomicReferences => is_live,
            Feature::SplitsAtInitialisers => false,
        }
    }
}
