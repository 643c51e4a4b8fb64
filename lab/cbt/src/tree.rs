//! A YAML text as a tree whose keys and values know their lines.
//!
//! Every alias is put in place of what it names, as CBT's reader does. So a short text may stand for a long one, and what it
//! stands for is bounded, not only the text.

use crate::CbtError;
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::BTreeMap;

/// A test of a hundred volumes and pools has a few hundred values.
const NODES_MAX: usize = 10_000;

/// A test nests five deep.
const DEPTH_MAX: usize = 32;

/// A text of CBT has a few KiB.
const BYTES_MAX: usize = 1 << 20;

/// A value with its line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlNode {
    pub(crate) line: usize,
    pub(crate) value: YamlValue,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum YamlValue {
    /// Left out, or `~`.
    Nothing,
    Text(String),
    List(Vec<YamlNode>),
    Map(YamlMap),
}

/// Keys with their values, in the text's order; no key is there twice.
pub(crate) type YamlMap = Vec<(YamlKey, YamlNode)>;

/// A key with its line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlKey {
    pub(crate) line: usize,
    pub(crate) name: String,
}

impl YamlNode {
    /// The word that it is.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How many values it is.
    fn weight(&self) -> usize {
        1 + match &self.value {
            YamlValue::Nothing | YamlValue::Text(_) => 0,
            YamlValue::List(items) => items.iter().map(YamlNode::weight).sum(),
            YamlValue::Map(map) => map.iter().map(|(_, node)| node.weight()).sum(),
        }
    }
}

/// The keys of all documents of a text together, as CBT puts them together.
///
/// # Errors
/// [`CbtError`] if it is no YAML, if its documents are no maps, or if it is larger than any test.
pub(crate) fn parse(text: &str) -> Result<YamlMap, CbtError> {
    if text.len() > BYTES_MAX {
        return Err(CbtError::new(1, "a text of more than 1 MiB is no test of CBT"));
    }
    let mut tree = YamlTree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            CbtError::new(error.marker().line().max(1), format!("no YAML: {}", error.info()))
        })?;
        tree.take(event, span.start.line().max(1))?;
    }
    Ok(tree.all)
}

/// A list or a map whose end has not come.
struct OpenNode {
    line: usize,
    anchor: usize,
    inside: OpenValue,
}

enum OpenValue {
    List(Vec<YamlNode>),
    /// The key is the one that waits for its value.
    Map(YamlMap, Option<YamlKey>),
}

#[derive(Default)]
struct YamlTree {
    open: Vec<OpenNode>,
    anchors: BTreeMap<usize, YamlNode>,
    nodes: usize,
    all: YamlMap,
}

impl YamlTree {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), CbtError> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_plain = style == ScalarStyle::Plain;
                let value = match is_plain && ["", "~", "null", "Null", "NULL"].contains(&&*text) {
                    true => YamlValue::Nothing,
                    false => YamlValue::Text(text.into_owned()),
                };
                self.nodes += 1;
                self.put(YamlNode { line, value }, anchor)
            }
            Event::Alias(anchor) => {
                let named = self.anchors.get(&anchor).cloned();
                let node = named.ok_or_else(|| {
                    CbtError::new(line, "an alias stands inside of what it names")
                })?;
                self.nodes += node.weight();
                self.put(YamlNode { line, ..node }, 0)
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(OpenNode { line, anchor, inside: OpenValue::List(Vec::new()) })
            }
            Event::MappingStart(anchor, _) => {
                self.begin(OpenNode { line, anchor, inside: OpenValue::Map(Vec::new(), None) })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, node: OpenNode) -> Result<(), CbtError> {
        if self.open.len() == DEPTH_MAX {
            return Err(CbtError::new(node.line, "nested deeper than any test of CBT"));
        }
        self.nodes += 1;
        self.open.push(node);
        Ok(())
    }

    fn end(&mut self) -> Result<(), CbtError> {
        let Some(OpenNode { line, anchor, inside }) = self.open.pop() else { return Ok(()) };
        let value = match inside {
            OpenValue::List(items) => YamlValue::List(items),
            OpenValue::Map(map, _) => YamlValue::Map(map),
        };
        self.put(YamlNode { line, value }, anchor)
    }

    /// A whole value in its place.
    fn put(&mut self, node: YamlNode, anchor: usize) -> Result<(), CbtError> {
        if self.nodes > NODES_MAX {
            return Err(CbtError::new(node.line, "more values than any test of CBT has"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => self.put_document(node),
            Some(OpenValue::List(items)) => {
                items.push(node);
                Ok(())
            }
            Some(OpenValue::Map(map, waits)) => match waits.take() {
                Some(key) => add(map, key, node),
                None => {
                    *waits = Some(key(node)?);
                    Ok(())
                }
            },
        }
    }

    fn put_document(&mut self, node: YamlNode) -> Result<(), CbtError> {
        match node.value {
            YamlValue::Map(map) => {
                map.into_iter().try_for_each(|(key, node)| add(&mut self.all, key, node))
            }
            YamlValue::Nothing => Ok(()),
            YamlValue::Text(_) | YamlValue::List(_) => Err(CbtError::new(
                node.line,
                "a test of CBT is a map with `cluster` and `benchmarks`",
            )),
        }
    }
}

fn key(node: YamlNode) -> Result<YamlKey, CbtError> {
    match node.value {
        YamlValue::Text(name) if name == "<<" => {
            Err(CbtError::new(node.line, "a map cannot be merged into another: write its keys out"))
        }
        YamlValue::Text(name) => Ok(YamlKey { line: node.line, name }),
        _ => Err(CbtError::new(node.line, "a key must be a word")),
    }
}

fn add(map: &mut YamlMap, key: YamlKey, node: YamlNode) -> Result<(), CbtError> {
    match map.iter().find(|(other, _)| other.name == key.name) {
        None => map.push((key, node)),
        Some((other, _)) => {
            let reason = format!("`{}` is there already, in line {}", key.name, other.line);
            return Err(CbtError::new(key.line, reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(node: &YamlNode) -> String {
        let line = node.line;
        match &node.value {
            YamlValue::Nothing => format!("{line}:~"),
            YamlValue::Text(text) => format!("{line}:{text}"),
            YamlValue::List(items) => {
                format!("{line}:[{}]", items.iter().map(told).collect::<Vec<_>>().join(" "))
            }
            YamlValue::Map(map) => format!("{line}:{{{}}}", all(map)),
        }
    }

    fn all(map: &YamlMap) -> String {
        let entry = |(key, node): &(YamlKey, YamlNode)| format!("{}={}", key.name, told(node));
        map.iter().map(entry).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_value_knows_its_line() {
        let check = |text: &str, is: &str| {
            let found = parse(text).map(|map| all(&map));
            assert_eq!(found.map_err(|error| error.to_string()), Ok(is.to_owned()), "{text}");
        };
        check("a: 1\nb:\n  c: [x, 'y']\n", "a=1:1 b=3:{c=3:[3:x 3:y]}");
        check("a: ~\nb:\nc: '~'\n", "a=1:~ b=2:~ c=3:~");
        check("# nothing\n", "");
        check("a: 1\n---\nb: 2\n", "a=1:1 b=3:2");
        check("a: &it {b: 1}\nc: *it\n", "a=1:{b=1:1} c=2:{b=1:1}");
    }

    #[test]
    fn what_is_no_test_is_refused_with_its_line() {
        let check = |text: &str, line: usize, says: &str| {
            let error = parse(text).expect_err("it is refused");
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.reason.contains(says), "{text}: {error}");
        };
        check("a: 1\nb: [1\n", 3, "no YAML");
        check("a: 1\n\ta: 2\n", 1, "found a tab");
        check("\n- a\n", 2, "is a map with `cluster`");
        check("a: 1\nb: 2\na: 3\n", 3, "`a` is there already, in line 1");
        check("a: 1\n---\na: 3\n", 3, "`a` is there already, in line 1");
        check("[1]: 2\n", 1, "a key must be a word");
        check("a: &it\n  <<: {b: 1}\n", 2, "cannot be merged");
        check("a: &it [*it]\n", 1, "inside of what it names");
        check(&"[".repeat(40), 1, "nested deeper");
        check(&"#".repeat(BYTES_MAX + 1), 1, "1 MiB");
    }

    /// Ten lines that would be ten thousand million values.
    #[test]
    fn a_text_that_stands_for_more_than_it_is_ends() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let all = vec![format!("*a{}", level - 1); 10].join(", ");
            text += &format!("a{level}: &a{level} [{all}]\n");
        }
        let error = parse(&text).expect_err("it is refused");
        assert!(error.reason.contains("more values"), "{error}");
    }
}
