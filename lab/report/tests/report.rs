//! The whole report, made from a made-up but realistic result.

mod fixture;

use fixture::{all_setups, facts, recovery_result, with_presets, with_repeats, with_reservations};
use loadline_report::{reservation_text, terminal_table, write_report};
use loadline_study::StudyResult;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Compares with a file in `tests/golden`; `UPDATE_GOLDEN=1` writes it instead, to be read in the
/// diff.
fn check_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{name} differs; found:\n{found}");
}

#[test]
fn the_table_reads_as_agreed() {
    check_golden("table-160.txt", &terminal_table(&recovery_result(), 160));
    check_golden("table-80.txt", &terminal_table(&recovery_result(), 80));
    check_golden("table-presets.txt", &terminal_table(&with_presets(), 160));
}

#[test]
fn no_line_of_the_table_is_wider_than_the_terminal() {
    for width in [60, 80, 100, 120, 160, 200] {
        for line in terminal_table(&recovery_result(), width).lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
        }
    }
}

/// Writes a report into an empty folder and hands the page and every chart to `look`. With
/// `KEEP_REPORTS` set to a folder, the report stays there to be looked at in a browser.
fn with_report(name: &str, result: &StudyResult, look: impl Fn(&str, &[(String, String)])) {
    let folder = tempfile::tempdir().unwrap();
    write_report(folder.path(), result, &facts()).unwrap();
    if let Some(keep) = std::env::var_os("KEEP_REPORTS") {
        let keep = Path::new(&keep).join(name);
        fs::create_dir_all(&keep).unwrap();
        write_report(&keep, result, &facts()).unwrap();
    }
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    let mut plots = Vec::new();
    for entry in fs::read_dir(folder.path().join("plots")).unwrap() {
        let path = entry.unwrap().path();
        plots.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
    }
    look(&page, &plots);
}

/// The same grey remark stood under each setup.
#[test]
fn a_switch_says_once_why_it_is_turned() {
    with_report("variants", &with_presets(), |page, _| {
        assert!(page.matches("with another OSD returning").count() > 1);
        assert_eq!(page.matches("Its replies have an owner of their own.").count(), 1);
    });
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    with_report("presets", &with_presets(), |page, _| {
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "//cdn", "src=", "href=", "@import", "url("] {
            assert!(!rest.contains(word), "the page contains `{word}`");
        }
    });
}

#[test]
fn every_chart_of_the_published_study_is_there() {
    with_report("plain", &recovery_result(), |page, plots| {
        for chart in [
            "client-iops",
            "clat-mean",
            "clat-percentiles",
            "clat-mean-over-time",
            "objects-left-over-time",
            "recovery-rate",
            "recovery-rate-over-time",
            "waits-client",
            "waits-background_recovery",
        ] {
            let name = format!("/{}.svg", chart.replace('_', "-"));
            assert!(plots.iter().any(|(path, _)| path.ends_with(&name)), "no {name}");
        }
        for words in ["does not hold", "not tested", "a quarter of", "fitted", "osd_mclock_profile"]
        {
            assert!(page.contains(words), "the page lacks `{words}`");
        }
    });
}

/// Twelve lines in one chart cannot be told apart.
#[test]
fn many_setups_get_a_chart_over_time_per_preset() {
    with_report("presets", &with_presets(), |_, plots| {
        for preset in ["quincy", "reef", "loadline"] {
            let name = format!("/objects-left-over-time-{preset}.svg");
            assert!(plots.iter().any(|(path, _)| path.ends_with(&name)), "no {name}");
        }
    });
}

#[test]
fn every_chart_is_well_formed_and_has_no_bad_number() {
    with_report("repeats", &with_repeats(), |page, plots| {
        assert!(page.contains("no difference shown"));
        for (path, svg) in plots {
            check_well_formed(path, svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{path} has a bad number");
        }
    });
}

/// A study may have ended after its first setup, and that one may have completed nothing.
#[test]
fn a_result_with_next_to_nothing_in_it_still_gives_a_page() {
    let mut result = recovery_result();
    result.setups.truncate(1);
    result.setups[0] = loadline_study::SetupResult::default();
    result.setups[0].setup.name = "only".into();
    with_report("bare", &result, |page, plots| {
        assert!(page.contains("only"));
        plots.iter().for_each(|(path, svg)| check_well_formed(path, svg));
    });
    assert!(terminal_table(&result, 160).contains("only"));
}

#[test]
fn a_reservation_has_its_sentences_its_table_and_its_charts() {
    let result = with_reservations();
    with_report("reservations", &result, |page, plots| {
        for words in [
            "Reservation, second by second",
            "reservation NOT kept under <b>high_recovery_ops</b>: clients were promised 50 %",
            "they got less in 1 of 40 s",
            "NOT kept in 1 of 40 s",
            "kept: 10,750 IOPS owed",
            "−31 % (osd.2, second 20)",
            "39 of 40",
            "What this study expects",
        ] {
            assert!(page.contains(words), "the page lacks `{words}`");
        }
        let charts: Vec<_> =
            plots.iter().filter(|(path, _)| path.contains("/reservation-")).collect();
        assert_eq!(charts.len(), 3, "a chart for each profile");
        for (path, svg) in charts {
            check_well_formed(path, svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{path} has a bad number");
        }
    });
    check_golden("reservation.txt", &reservation_text(&result, 80));
    assert_eq!(reservation_text(&recovery_result(), 80), "", "nothing is reserved there");
}

/// The picture stood below the fold, behind six sentences and two warnings; and the axis of the answer was cut off in the table.
#[test]
fn the_picture_follows_the_answer_and_few_findings_follow_the_picture() {
    with_report("reservations", &with_reservations(), |page, _| {
        let answer = between(page, "<section id=\"answer\">", "</section>");
        let order = [
            "class=\"lead\"",
            "<figure class=\"picture\"",
            "class=\"about\"",
            "class=\"plain\"",
            "class=\"warnings\"",
        ];
        let places = order.map(|part| answer.find(part).unwrap_or_else(|| panic!("no {part}")));
        assert!(places.is_sorted(), "{places:?}");
        let findings = between(answer, "class=\"plain\">", "</ul>");
        assert_eq!(findings.matches("<li>").count(), 3);
        assert!(findings.starts_with("<li>No, this is not so: "), "{findings}");
        let first =
            "<th class=\"row\">Setup</th><th>recovery<br><span class=\"unit\">time</span></th>";
        assert!(page.contains(first), "another column comes first");
    });
}

fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let begun = page.find(begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    &page[begun..begun + page[begun..].find(end).unwrap_or_else(|| panic!("no {end}"))]
}

/// The pages of all setups were eight on A4 and nine on Letter: charts over time of each preset, and the table of what was fitted.
#[test]
fn a_report_of_all_setups_is_printed_on_six_pages() {
    with_report("all", &all_setups(), |page, _| {
        let (courses, presets) = (5, 3);
        assert_eq!(
            page.matches("<figure class=\"wide screened\">").count(),
            courses * (presets - 1)
        );
        let fitted = between(page, "<section id=\"trust\">", "</section>");
        let (fold, table) = (fitted.find("<details>"), fitted.find("Fitted figure</th>"));
        assert!(fold.is_some() && fold < table, "the table of what was fitted is printed");
        for paper in ["A4", "letter"] {
            match printed_pages(page, paper) {
                Some(pages) => assert!(pages <= 6, "{pages} pages on {paper}"),
                None => println!("there is no chromium to print with"),
            }
        }
    });
}

/// Pages that a browser prints, where there is one.
fn printed_pages(page: &str, paper: &str) -> Option<usize> {
    let folder = tempfile::tempdir().unwrap();
    let (html, pdf) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    let sized = page.replace("@page{margin:12mm}", &format!("@page{{margin:12mm;size:{paper}}}"));
    assert_ne!(sized, page);
    fs::write(&html, sized).unwrap();
    let printed = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", html.display()))
        .stderr(Stdio::null())
        .status();
    assert!(printed.ok()?.success(), "chromium does not print");
    let bytes = fs::read(&pdf).unwrap();
    let mark = b"/Type /Page";
    let is_page = |at: &[u8]| at.starts_with(mark) && !at[mark.len()..].starts_with(b"s");
    Some((0..bytes.len()).filter(|at| is_page(&bytes[*at..])).count())
}

/// Every element is closed by its own name, every attribute is quoted, and `&` begins an entity.
fn check_well_formed(path: &str, svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        check_text(path, &rest[..start]);
        let end =
            start + rest[start..].find('>').unwrap_or_else(|| panic!("{path}: `<` not closed"));
        let element = &rest[start + 1..end];
        let name = element.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if element.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{path}: `</{name}>` closes something else");
        } else {
            assert!(
                element.matches('"').count().is_multiple_of(2),
                "{path}: quotes in <{element}>"
            );
            if !element.ends_with('/') {
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{path}: not closed: {open:?}");
}

fn check_text(path: &str, text: &str) {
    for (place, _) in text.match_indices('&') {
        let entity = &text[place..];
        let known = ["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|e| entity.starts_with(e));
        assert!(known, "{path}: bare `&` in {text}");
    }
}
