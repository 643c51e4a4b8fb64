//! MODE SELECT: what a host wants of the mode pages, checked whole before anything of it holds.

use crate::cdb::{ModeForm, PageControl};
use crate::fields::u16_at;
use crate::mode::{LimitPages, ModePages, page_bytes};
use crate::sense::SenseCode;
use loadline_base::Span;
use loadline_device::cdl::{DescriptorPage, DriveBounds, ModePage};
use std::ops::RangeInclusive;

/// The descriptors that hold after these parameters; `None` if they change none.
pub(crate) fn wanted_limits(
    form: ModeForm,
    parameters: &[u8],
    pages: &ModePages,
    times: &RangeInclusive<Span>,
) -> Result<Option<LimitPages>, SenseCode> {
    let mut rest = after_header(form, parameters)?;
    let before = pages.limits();
    let mut wanted = before;
    while !rest.is_empty() {
        let length = page_bytes(rest).ok_or(SenseCode::LIST_LENGTH)?;
        let page = rest.get(..length).ok_or(SenseCode::LIST_LENGTH)?;
        take_page(page, pages, times, &mut wanted)?;
        rest = &rest[length..];
    }
    Ok(wanted.filter(|_| wanted != before))
}

/// What follows the header and its block descriptors. Other blocks than there are cannot be had.
fn after_header(form: ModeForm, parameters: &[u8]) -> Result<&[u8], SenseCode> {
    let (header, descriptors) = match form {
        ModeForm::Six => (4, parameters.get(3).map(|length| usize::from(*length))),
        ModeForm::Ten => (8, (parameters.len() >= 8).then(|| usize::from(u16_at(parameters, 6)))),
    };
    if parameters.is_empty() {
        return Ok(parameters);
    }
    let descriptors = descriptors.ok_or(SenseCode::LIST_LENGTH)?;
    let block = parameters.get(header..header + descriptors).ok_or(SenseCode::LIST_LENGTH)?;
    match block {
        [] | [_, _, _, _, _, 0x00, 0x02, 0x00] => Ok(&parameters[header + descriptors..]),
        _ => Err(SenseCode::LIST_FIELD),
    }
}

fn take_page(
    page: &[u8],
    pages: &ModePages,
    times: &RangeInclusive<Span>,
    wanted: &mut Option<LimitPages>,
) -> Result<(), SenseCode> {
    let code = page[0] & 0x3f;
    let subpage = if page[0] & 0x40 != 0 { page[1] } else { 0 };
    let held = pages.values(code, subpage, PageControl::Current).ok_or(SenseCode::LIST_FIELD)?;
    let changeable = pages.values(code, subpage, PageControl::Changeable);
    if !keeps_the_rest(page, &held, &changeable.ok_or(SenseCode::LIST_FIELD)?) {
        return Err(SenseCode::LIST_FIELD);
    }
    if let Some(wanted) = wanted
        && code == 0x0a
        && subpage != 0
    {
        let page = DescriptorPage::from_mode_page(page).map_err(|_| SenseCode::LIST_FIELD)?;
        if !is_within(&page, times) {
            return Err(SenseCode::LIST_FIELD);
        }
        let place =
            if page.kind() == ModePage::T2A { &mut wanted.reads } else { &mut wanted.writes };
        *place = page;
    }
    Ok(())
}

/// Whether a page leaves as it is what MODE SENSE does not call changeable: its head, but for PS, which has no meaning on the
/// way in, and every other bit. So nothing that a host wants is taken and dropped.
fn keeps_the_rest(page: &[u8], held: &[u8], changeable: &[u8]) -> bool {
    let head = if held[0] & 0x40 != 0 { 4 } else { 2 };
    let same_head = page[0] & 0x7f == held[0] & 0x7f && page[1..head] == held[1..head];
    let bits = page.iter().zip(held).zip(changeable).skip(head);
    same_head
        && page.len() == held.len()
        && bits.into_iter().all(|((new, old), may)| (new ^ old) & !may == 0)
}

/// Whether the drive can keep the times that it is to act on.
fn is_within(page: &DescriptorPage, times: &RangeInclusive<Span>) -> bool {
    let bounds = DriveBounds {
        minimum: *times.start(),
        maximum: *times.end(),
        command_timeout: Span::from_nanos(u64::MAX),
    };
    !page.findings(&bounds).iter().any(|finding| finding.kind.is_error())
}
