//! Parts of an inspection as text and as JSON.

use loadline_store::paged::inspect::{Body, Part, ShownValue};
use serde_json::{Map, Value as Json};

/// All parts, one after the other.
pub(crate) fn text(parts: &[Part]) -> String {
    let texts: Vec<String> = parts.iter().map(Part::to_string).collect();
    texts.join("\n")
}

/// One object with a field for each part.
pub(crate) fn json(parts: &[Part]) -> Json {
    Json::Object(parts.iter().map(|part| (field(part.name), json_of(part))).collect())
}

/// Facts as an object, a table as an array of objects, bytes as hex.
pub(crate) fn json_of(part: &Part) -> Json {
    match &part.body {
        Body::Facts(facts) => facts
            .iter()
            .map(|(name, fact)| (field(name), value(fact)))
            .collect::<Map<_, _>>()
            .into(),
        Body::Table { head, rows, more } => {
            let object = |row: &Vec<ShownValue>| -> Json {
                let cells = head.iter().zip(row).map(|(name, cell)| (field(name), value(cell)));
                cells.collect::<Map<_, _>>().into()
            };
            let rows: Vec<Json> = rows.iter().map(object).collect();
            serde_json::json!({ "rows": rows, "more": more })
        }
        Body::Bytes(bytes) => {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
    }
}

fn value(value: &ShownValue) -> Json {
    match value {
        ShownValue::Number(number) => (*number).into(),
        ShownValue::Text(text) => text.as_str().into(),
        ShownValue::Nothing => Json::Null,
    }
}

/// A name as programs like it: `log position` becomes `log_position`.
fn field(name: &str) -> String {
    let mut out = String::new();
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push('_');
        }
        out.push_str(word);
    }
    out
}
