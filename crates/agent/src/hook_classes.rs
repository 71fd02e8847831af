//! The classes that rewritten code calls.

use core::ffi::CStr;

use atomvet_jvm::AddedField;

/// What they add to application classes: an object's number. `AtomvetHooks.visible` knows it as well.
pub(crate) const ADDED_FIELDS: &[AddedField] = &[(b"$atomvet", b"J")];

/// The hook class and those that it is made of, in the order in which they can be defined.
pub(crate) static HOOK_CLASSES: &[(&CStr, &[u8])] = &[
    (c"java/lang/AtomvetHooks", include_bytes!("hooks/AtomvetHooks.class")),
    (c"java/lang/AtomvetHooks$T", include_bytes!("hooks/AtomvetHooks$T.class")),
    (c"java/lang/AtomvetHooks$Tasks", include_bytes!("hooks/AtomvetHooks$Tasks.class")),
    (c"java/lang/AtomvetObjects", include_bytes!("hooks/AtomvetObjects.class")),
    (c"java/lang/AtomvetObjects$1", include_bytes!("hooks/AtomvetObjects$1.class")),
    (c"java/lang/AtomvetBases", include_bytes!("hooks/AtomvetBases.class")),
    (c"java/lang/AtomvetBases$Resident", include_bytes!("hooks/AtomvetBases$Resident.class")),
    (c"java/lang/AtomvetObjects$Room", include_bytes!("hooks/AtomvetObjects$Room.class")),
    (c"java/lang/AtomvetObjects$About$1", include_bytes!("hooks/AtomvetObjects$About$1.class")),
    (c"java/lang/AtomvetObjects$About", include_bytes!("hooks/AtomvetObjects$About.class")),
    (c"java/lang/AtomvetUnnumbered", include_bytes!("hooks/AtomvetUnnumbered.class")),
    (c"java/lang/AtomvetUnnumbered$Shared", include_bytes!("hooks/AtomvetUnnumbered$Shared.class")),
    (c"java/lang/AtomvetContended", include_bytes!("hooks/AtomvetContended.class")),
    (c"java/lang/AtomvetStatics", include_bytes!("hooks/AtomvetStatics.class")),
    (c"java/lang/AtomvetSettled", include_bytes!("hooks/AtomvetSettled.class")),
    (c"java/lang/AtomvetCalls", include_bytes!("hooks/AtomvetCalls.class")),
    (c"java/lang/AtomvetCalls$Call", include_bytes!("hooks/AtomvetCalls$Call.class")),
    (c"java/lang/AtomvetKeys", include_bytes!("hooks/AtomvetKeys.class")),
    (c"java/lang/AtomvetCalls$Fields", include_bytes!("hooks/AtomvetCalls$Fields.class")),
    (c"java/lang/AtomvetFields", include_bytes!("hooks/AtomvetFields.class")),
];
