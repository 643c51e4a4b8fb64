//! A drawing as pixels, with the letters that this crate carries: the same picture on every machine.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// Roboto (Apache License 2.0), cut down to the characters that charts use.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../fonts/Roboto-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../../fonts/Roboto-Medium.ttf").to_vec());
    fonts.set_sans_serif_family("Roboto");
    Arc::new(fonts)
});

/// `svg`, which has a size of its own, as a PNG file.
///
/// # Panics
/// If it is no drawing of this crate.
pub(super) fn png(svg: &str) -> Vec<u8> {
    let options =
        Options { fontdb: FONTS.clone(), font_family: "Roboto".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).expect("our own drawing is well-formed");
    let size = tree.size().to_int_size();
    let mut pixels =
        Pixmap::new(size.width(), size.height()).expect("a drawing has a width and a height");
    resvg::render(&tree, Transform::default(), &mut pixels.as_mut());
    pixels.encode_png().expect("writing to memory")
}
