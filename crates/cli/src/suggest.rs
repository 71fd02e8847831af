//! "Did you mean …?": the nearest of a few known words.

/// A question for an error message, with a space behind; nothing if no word of `known` is near.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("did you mean {near}? ")).unwrap_or_default()
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 2).clamp(1, 4);
    known
        .into_iter()
        .map(|candidate| {
            let starts = word.len() >= 3 && candidate.starts_with(&word);
            (if starts { 0 } else { distance(&word, candidate) }, candidate)
        })
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_near_and_not_the_far() {
        let known = ["regiontrack", "aerodrome", "velodrome"];
        assert_eq!(nearest("areodrome", known), Some("aerodrome"));
        assert_eq!(nearest("velo", known), Some("velodrome"));
        assert_eq!(nearest("RegionTrak", known), Some("regiontrack"));
        assert_eq!(nearest("xyz", known), None);
    }
}
