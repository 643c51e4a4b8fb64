//! Setups in sentences. A name stands in quotes, on a page in bold type, and where it is first mentioned, what it is stands behind it in brackets.

use loadline_draw::escape;
use loadline_study::{SetupResult, StudyResult, quoted};
use std::collections::BTreeMap;

/// The setups' names, each in quotes.
pub(crate) fn names<'a>(of: impl IntoIterator<Item = &'a SetupResult>) -> Vec<String> {
    of.into_iter().map(|setup| quoted(setup.name())).collect()
}

/// The sentences with what each setup is behind its first mention.
pub(crate) fn explained(sentences: Vec<String>, result: &StudyResult) -> Vec<String> {
    let told = result.setups.iter().filter(|setup| !setup.setup.about.is_empty());
    let mut unmet: BTreeMap<&str, &str> =
        told.map(|setup| (setup.name(), setup.setup.about.as_str())).collect();
    sentences.into_iter().map(|text| with_abouts(&text, &mut unmet)).collect()
}

fn with_abouts(text: &str, unmet: &mut BTreeMap<&str, &str>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('”') {
        let name = before.rsplit_once('“').map_or("", |(_, name)| name);
        let about = unmet.remove(name).map_or_else(String::new, |about| format!(" ({about})"));
        out += &format!("{before}”{about}");
        rest = after;
    }
    out + rest
}

/// What each setup is that these sentences do not mention, for where no picture has a legend.
pub(crate) fn legend(result: &StudyResult, said: &[String]) -> Vec<String> {
    let is_met = |name: &String| said.iter().any(|text| text.contains(name.as_str()));
    let told = result.setups.iter().filter(|setup| !setup.setup.about.is_empty());
    let lines = told.map(|setup| (quoted(setup.name()), &setup.setup.about));
    let unmet = lines.filter(|(name, _)| !is_met(name));
    unmet.map(|(name, about)| format!("{name}: {about}.")).collect()
}

/// A text for a page: setups' names are bold, and what stands between backticks is code.
pub(crate) fn marked(text: &str, result: &StudyResult) -> String {
    let bold = |text: String, setup: &SetupResult| {
        let name = escape(setup.name());
        text.replace(&quoted(&name), &format!("<b>{name}</b>"))
    };
    let text = result.setups.iter().fold(escape(text), bold);
    let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
    // One without its partner is no mark.
    if parts.len().is_multiple_of(2) {
        return text;
    }
    for code in parts.iter_mut().skip(1).step_by(2) {
        *code = format!("<code>{code}</code>");
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::Configuration;

    fn result() -> StudyResult {
        let setup = |(name, about): (&str, &str)| SetupResult {
            setup: Configuration {
                name: name.to_owned(),
                about: about.to_owned(),
                ..Configuration::default()
            },
            ..SetupResult::default()
        };
        let setups = [("both", "a limit and a queue"), ("a < b", "one below"), ("bare", "")];
        StudyResult { setups: setups.map(setup).into(), ..StudyResult::default() }
    }

    #[test]
    fn what_a_setup_is_stands_at_its_first_mention_alone() {
        let said = ["Take “both”, not “bare”.", "Or “a < b”; “both” is as good as “nobody”."];
        let found = explained(said.map(str::to_owned).into(), &result());
        let wanted = [
            "Take “both” (a limit and a queue), not “bare”.",
            "Or “a < b” (one below); “both” is as good as “nobody”.",
        ];
        assert_eq!(found, wanted);
        assert_eq!(legend(&result(), &found[..1]), ["“a < b”: one below."]);
        assert_eq!(legend(&result(), &found), Vec::<String>::new());
    }

    #[test]
    fn a_page_shows_names_in_bold_type() {
        let found = marked("“both” sets `x`; “a < b” is no “other”.", &result());
        assert_eq!(found, "<b>both</b> sets <code>x</code>; <b>a &lt; b</b> is no “other”.");
        assert_eq!(marked("`one", &result()), "`one");
    }
}
