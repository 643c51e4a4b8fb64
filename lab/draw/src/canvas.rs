//! Writes SVG elements; escapes text; knows about how wide a text is.

use std::fmt::Write;

/// An SVG drawing in the making. Coordinates are pixels of the drawing's own box.
pub struct Canvas {
    width: f64,
    label: String,
    body: String,
}

/// Which point of a text stands at its coordinate.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// Mean width of a character over the font size, for common sans-serif faces; a little generous, so
/// that labels placed with it do not touch.
const CHARACTER_WIDTH: f64 = 0.56;

/// Font size of all labels in pixels.
pub const FONT: f64 = 12.0;

/// Width in pixels that `text` needs.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * FONT * CHARACTER_WIDTH
}

/// `text` with the characters that mark-up takes for itself replaced.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Canvas {
    /// A drawing `width` wide; `label` is read out in place of it.
    pub fn new(width: f64, label: &str) -> Canvas {
        Canvas { width, label: label.to_owned(), body: String::new() }
    }

    /// A rectangle from its upper left corner.
    pub fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.put(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{:.1}" height="{height:.1}"/>"#,
            width.max(0.0)
        ));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    /// A circle around a point.
    pub fn circle(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        self.put(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"/>"#));
    }

    /// A path by its commands.
    pub fn path(&mut self, class: &str, data: &str) {
        self.put(format_args!(r#"<path class="{class}" d="{data}"/>"#));
    }

    /// A text on one line; `y` is its base line.
    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        ));
    }

    /// Says how pixels become values, for a page that reads out the value under the pointer: first
    /// and last pixel, first and last value of each axis.
    pub fn describe_frame(&mut self, x: &[f64; 4], y: &[f64; 4], log: bool) {
        let list = |ends: &[f64; 4]| ends.map(|end| format!("{end}")).join(" ");
        let (x, y) = (list(x), list(y));
        self.put(format_args!(r#"<g class="frame" data-x="{x}" data-y="{y}" data-log="{log}"/>"#));
    }

    /// Opens a group that belongs to a setup, or to another owner of data by its number: `title` shows while the pointer rests on it.
    pub fn open_group(&mut self, class: &str, setup: Option<usize>, title: &str) {
        let owner = setup.map_or_else(String::new, |setup| format!(r#" data-setup="{setup}""#));
        self.put(format_args!(r#"<g class="{class}"{owner}><title>{}</title>"#, escape(title)));
    }

    /// Closes the group opened last.
    pub fn close_group(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// The drawing, `height` high.
    pub fn finish(self, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" \
             role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.width,
            escape(&self.label),
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to a string");
        self.body.push('\n');
    }
}

/// `svg` with a style sheet of its own, ready to be a file that stands alone.
pub fn with_style(svg: &str, rules: &str) -> String {
    let head_end = svg.find('>').expect("a drawing starts with its element") + 1;
    format!("{}\n<style>{rules}</style>{}", &svg[..head_end], &svg[head_end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_is_text_and_no_markup() {
        let mut canvas = Canvas::new(10.0, "a < b & \"c\"");
        canvas.text("t", 1.0, 2.0, Anchor::End, "<&>");
        let svg = canvas.finish(5.0);
        assert!(svg.contains(r#"aria-label="a &lt; b &amp; &quot;c&quot;""#), "{svg}");
        assert!(svg.contains(r#"text-anchor="end">&lt;&amp;&gt;</text>"#), "{svg}");
    }

    #[test]
    fn no_rectangle_is_narrower_than_nothing() {
        let mut canvas = Canvas::new(10.0, "");
        canvas.rect("bar", 1.0, 2.0, -3.0, 4.0);
        let bar = r#"<rect class="bar" x="1.0" y="2.0" width="0.0" height="4.0"/>"#;
        assert!(canvas.finish(5.0).contains(bar));
    }

    #[test]
    fn rules_stand_right_behind_the_head() {
        let styled = with_style("<svg a=\"1\"><g/></svg>", "r{}");
        assert_eq!(styled, "<svg a=\"1\">\n<style>r{}</style><g/></svg>");
    }

    #[test]
    fn a_width_goes_by_characters() {
        assert_eq!(text_width("±0.0 %"), text_width("+0.0 %"));
    }
}
