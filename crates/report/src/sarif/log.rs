//! The parts of a SARIF 2.1.0 log that we write, named as in the standard (section 3). Text is borrowed where it can be:
//! a result is written once and thrown away.

use serde::Serialize;

/// 3.27
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult<'a> {
    pub(super) rule_id: &'a str,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) kind: &'static str,
    pub(super) message: Message<'a>,
    pub(super) locations: [Location<'a>; 1],
    pub(super) partial_fingerprints: PartialFingerprints<'a>,
    pub(super) occurrence_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suppressions: Option<[Suppression<'a>; 1]>,
    pub(super) properties: Properties<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code_flows: Option<[CodeFlow<'a>; 1]>,
}

/// 3.27.17. The number behind the name changes if fingerprints are made of other parts.
#[derive(Serialize)]
pub(super) struct PartialFingerprints<'a> {
    #[serde(rename = "atomvetFingerprint/v1")]
    pub(super) fingerprint: &'a str,
}

/// 3.35
#[derive(Serialize)]
pub(super) struct Suppression<'a> {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) justification: &'a str,
}

/// 3.8
#[derive(Serialize)]
pub(super) struct Properties<'a> {
    pub(super) strength: &'a str,
    pub(super) algorithms: &'a [String],
    pub(super) variables: &'a [String],
}

/// 3.11
#[derive(Clone, Copy, Serialize)]
pub(super) struct Message<'a> {
    pub(super) text: &'a str,
}

/// 3.28
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) physical_location: Option<PhysicalLocation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logical_locations: Option<[LogicalLocation<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message<'a>>,
}

/// 3.29
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation<'a> {
    pub(super) artifact_location: ArtifactLocation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
}

/// 3.4
#[derive(Clone, Copy, Serialize)]
pub(super) struct ArtifactLocation<'a> {
    pub(super) uri: &'a str,
}

/// 3.30
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
}

/// 3.33
#[derive(Serialize)]
pub(super) struct LogicalLocation<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'static str,
}

/// 3.36
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow<'a> {
    pub(super) message: Message<'a>,
    pub(super) thread_flows: Vec<ThreadFlow<'a>>,
}

/// 3.37
#[derive(Serialize)]
pub(super) struct ThreadFlow<'a> {
    pub(super) id: String,
    pub(super) locations: Vec<ThreadFlowLocation<'a>>,
}

/// 3.38
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadFlowLocation<'a> {
    pub(super) location: Location<'a>,
    pub(super) execution_order: usize,
    pub(super) importance: &'static str,
}
