//! The classes that rewritten code calls.

use core::ffi::CStr;

use atomvet_jvm::AddedField;

/// What they add to application classes: where an object is in shadow memory, and what keeps others away from there. `AtomvetObjects` knows
/// them as well.
pub(crate) const ADDED_FIELDS: &[AddedField] =
    &[(b"$atomvet", b"J"), (b"$atomvetRoom", b"Ljava/lang/Object;")];

/// The hook class and those that it is made of, in the order in which they can be defined.
pub(crate) static HOOK_CLASSES: &[(&CStr, &[u8])] = &[
    (c"java/lang/AtomvetHooks", include_bytes!("hooks/AtomvetHooks.class")),
    (c"java/lang/AtomvetHooks$T", include_bytes!("hooks/AtomvetHooks$T.class")),
    (c"java/lang/AtomvetRooms$Room", include_bytes!("hooks/AtomvetRooms$Room.class")),
    (c"java/lang/AtomvetRooms$Place", include_bytes!("hooks/AtomvetRooms$Place.class")),
    (c"java/lang/AtomvetRooms", include_bytes!("hooks/AtomvetRooms.class")),
    (c"java/lang/AtomvetObjects", include_bytes!("hooks/AtomvetObjects.class")),
    (c"java/lang/AtomvetObjects$About$1", include_bytes!("hooks/AtomvetObjects$About$1.class")),
    (c"java/lang/AtomvetObjects$About", include_bytes!("hooks/AtomvetObjects$About.class")),
    (c"java/lang/AtomvetUnnumbered", include_bytes!("hooks/AtomvetUnnumbered.class")),
    (c"java/lang/AtomvetUnnumbered$Entry", include_bytes!("hooks/AtomvetUnnumbered$Entry.class")),
    (c"java/lang/AtomvetCalls", include_bytes!("../../agent/src/hooks/AtomvetCalls.class")),
    (c"java/lang/AtomvetCalls$Call", include_bytes!("../../agent/src/hooks/AtomvetCalls$Call.class")),
    (c"java/lang/AtomvetKeys", include_bytes!("hooks/AtomvetKeys.class")),
    (c"java/lang/AtomvetCalls$Fields", include_bytes!("../../agent/src/hooks/AtomvetCalls$Fields.class")),
    (c"java/lang/AtomvetFields", include_bytes!("../../agent/src/hooks/AtomvetFields.class")),
];
