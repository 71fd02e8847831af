//! Names made safe to show, as in every other rendering.

pub(crate) use atomvet_report::visible::{visible, visible_lines, visible_within};
