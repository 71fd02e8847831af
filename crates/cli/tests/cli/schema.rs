//! `docs/report.schema.json` describes what is written: real reports satisfy it, and no field is missing in it.

use std::path::Path;

use serde_json::Value;

use crate::common::{LOST, UNBLAMED, atomvet, atomvet_with, trace};

/// As much of JSON Schema as ours uses. A keyword that it does not know is an error, and so is a field that the schema does
/// not name: readers ignore those, but we must not write them.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").ok_or(reference)?;
        return check(root, &root["$defs"][name], value, at);
    }
    for (keyword, rule) in schema.as_object().ok_or(format!("{at}: no schema"))? {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "const" => value == rule,
            "type" => {
                let types = rule.as_array().cloned().unwrap_or(vec![rule.clone()]);
                types.iter().any(|kind| is(value, kind.as_str().unwrap_or_default()))
            }
            "enum" => rule.as_array().is_some_and(|values| values.contains(value)),
            "minimum" => value.is_null() || value.as_f64() >= rule.as_f64(),
            "minItems" => value.as_array().map(Vec::len) >= rule.as_u64().map(|n| n as usize),
            "maxItems" => value.as_array().map(Vec::len) <= rule.as_u64().map(|n| n as usize),
            "pattern" => {
                assert_eq!(rule, "^[0-9a-f]{16}$");
                let hexadecimal = |c: char| matches!(c, '0'..='9' | 'a'..='f');
                value.as_str().is_some_and(|text| text.len() == 16 && text.chars().all(hexadecimal))
            }
            "required" => {
                rule.as_array().into_iter().flatten().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{i}]"))?;
                }
                true
            }
            "additionalProperties" => {
                value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .try_for_each(|(name, field)| check(root, rule, field, name))?;
                true
            }
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    let rule = rule.get(name).ok_or(format!("{at}: the schema does not know {name}"))?;
                    check(root, rule, field, &format!("{at}.{name}"))?;
                }
                true
            }
            "anyOf" => {
                let tried: Vec<_> =
                    rule.as_array().into_iter().flatten().map(|one| check(root, one, value, at)).collect();
                if !tried.iter().any(Result::is_ok) {
                    return Err(format!("{tried:?}"));
                }
                true
            }
            other => return Err(format!("the validator does not know {other}")),
        };
        if !holds {
            return Err(format!("{at}: {keyword} does not hold: {rule} {value}"));
        }
    }
    Ok(())
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    }
}

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the schema exists")).expect("it is JSON")
}

#[track_caller]
pub(crate) fn satisfies(report: &Value) {
    let schema = schema();
    if let Err(problem) = check(&schema, &schema, report, "$") {
        panic!("{problem}");
    }
}

#[test]
fn the_reports_on_the_corpus_satisfy_the_schema() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut paths: Vec<String> = ["", "predict", "bad"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(corpus.join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .filter(|path| path.ends_with(".std"))
        .collect();
    paths.sort();
    assert!(paths.len() > 80, "{}", paths.len());
    let arguments = ["check", "--format", "json", "--verify", "--algo", "all", "--serial-order"];
    let arguments: Vec<&str> = arguments.into_iter().chain(paths.iter().map(String::as_str)).collect();
    let report = atomvet(&arguments).json();
    assert_eq!(report["traces"].as_array().map(Vec::len), Some(paths.len()));
    satisfies(&report);
}

#[test]
fn what_is_there_only_sometimes_satisfies_the_schema_too() {
    for text in [trace(LOST), trace(UNBLAMED), String::new(), format!("T1|rel(m)|9\n{}", trace(LOST))] {
        satisfies(&atomvet_with(&["check", "--format", "json", "--lenient", "-"], text.as_bytes()).json());
    }
}

#[test]
fn the_validator_notices() {
    let report = atomvet_with(&["check", "--format", "json", "-"], trace(LOST).as_bytes()).json();
    let broken = |change: fn(&mut Value)| {
        let mut report = report.clone();
        change(&mut report);
        let schema = schema();
        check(&schema, &schema, &report, "$").expect_err("it is broken")
    };
    broken(|report| report["schema"] = "atomvet-report/2".into());
    broken(|report| report["traces"][0]["checkers"][0]["violations"][0]["fingerprint"] = "x".into());
    broken(|report| report["traces"][0]["checkers"][0]["violations"][0]["events"][0]["op"] = 1.into());
    broken(|report| report["traces"][0]["checkers"][0]["surprise"] = 1.into());
    broken(|report| drop(report["traces"][0].as_object_mut().expect("an object").remove("threads")));
}
