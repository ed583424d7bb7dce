//! npz files: what `numpy.savez` and `numpy.savez_compressed` write, a zip of npy files with one array each.
//!
//! Of an array the header is read first, and its entries only if they are as many as the circuit declares: what a
//! compressed file claims to hold never decides how much memory is taken.

use super::elements::{Elements, Stored, elements, fits, size_of};
use safetensors::Dtype;
use slvr_runtime::share::encode::RawData;
use std::io::{Cursor, Read};
use zip::ZipArchive;
use zip::result::ZipError;

/// What the name of an array has behind it in the archive.
const SUFFIX: &str = ".npy";

/// What every npy file begins with.
const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header of an array that is read; NumPy's own have 128 bytes.
const MOST_HEADER: usize = 1 << 16;

pub struct Npz<'b>(ZipArchive<Cursor<&'b [u8]>>);

impl<'b> Npz<'b> {
    pub fn open(bytes: &'b [u8]) -> Result<Self, String> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
            format!("not an npz file, or cut short: {e}; numpy.savez and numpy.savez_compressed write them")
        })?;
        let npz = Npz(archive);
        if entries(bytes).is_some_and(|n| n > npz.0.len() as u64) {
            return Err("has two arrays of one name".into());
        }
        match npz.names().is_empty() && !npz.0.is_empty() {
            true => Err("a zip file without arrays of NumPy; numpy.savez writes npz files".into()),
            false => Ok(npz),
        }
    }

    /// The names of its arrays.
    pub fn names(&self) -> Vec<String> {
        let names = self.0.file_names().filter_map(|n| n.strip_suffix(SUFFIX));
        names.map(str::to_owned).collect()
    }

    /// An array; its entries only if it has this shape.
    pub fn get(&mut self, name: &str, wanted: &[u64]) -> Result<Option<Stored<'_>>, String> {
        let mut file = match self.0.by_name(&format!("{name}{SUFFIX}")) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(e) => return Err(format!("cannot be read: {e}")),
        };
        let Header { kind, fortran, shape } = header(&mut file)?;
        let dtype = dtype(&kind);
        if !fits(&shape, wanted) {
            return Ok(Some(Stored { shape, kind, data: None }));
        }
        let Some(dtype) = dtype else { return Ok(Some(Stored { shape, kind, data: None })) };
        let entries = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let Some(wanted) = entries.and_then(|n| n.checked_mul(size_of(dtype))) else {
            return Err("is larger than any memory".into());
        };
        let mut bytes = Vec::new();
        // One byte more, so that what is too long shows, and so that the sum of the whole is checked.
        let read = file.take(wanted.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| format!("damaged: {e}"))?;
        match bytes.len() as u64 {
            found if found < wanted => {
                return Err(format!(
                    "cut short: {wanted} bytes should follow its header, {found} do"
                ));
            }
            found if found > wanted => {
                return Err(format!("damaged: more than {wanted} bytes follow its header"));
            }
            _ => {}
        }
        let data = elements(dtype, &bytes).map(|data| match (fortran, data) {
            (false, data) => data,
            (true, RawData::F32(v)) => RawData::F32(by_rows(&v, &shape)),
            (true, RawData::F64(v)) => RawData::F64(by_rows(&v, &shape)),
            (true, RawData::I64(v)) => RawData::I64(by_rows(&v, &shape)),
        });
        Ok(Some(Stored { shape, kind, data: data.map(Elements::from) }))
    }
}

/// An array of an npz file, with its entries as real numbers.
pub struct NpzArray {
    pub name: String,
    pub shape: Vec<u64>,
    pub values: Vec<f32>,
}

/// All arrays of an npz file, of at most `most` entries in all.
pub fn arrays(bytes: &[u8], most: u64) -> Result<Vec<NpzArray>, String> {
    let mut npz = Npz::open(bytes)?;
    let (mut all, mut left) = (Vec::new(), most);
    for name in npz.names() {
        let said = |why: String| format!("`{name}` {why}");
        // A shape of nothing reads the header alone.
        let stored = npz.get(&name, &[u64::MAX]).map_err(said)?;
        let Some(Stored { shape, kind, .. }) = stored else { continue };
        let entries = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let Some(fewer) = entries.and_then(|n| left.checked_sub(n)) else {
            return Err(said(format!("makes more than {most} entries in all")));
        };
        left = fewer;
        let stored = npz.get(&name, &shape).map_err(said)?;
        let values = match stored.and_then(|s| s.data) {
            Some(Elements::F32(v)) => v.into_owned(),
            Some(Elements::F64(v)) => v.iter().map(|x| *x as f32).collect(),
            Some(Elements::I64(v)) => v.iter().map(|x| *x as f32).collect(),
            None => return Err(said(format!("has elements of the type {kind}"))),
        };
        all.push(NpzArray { name, shape, values });
    }
    Ok(all)
}

/// How many files the end of a zip archive says that it has; those of the same name are one to its reader. None of an
/// archive of so many files that it has this elsewhere.
fn entries(bytes: &[u8]) -> Option<u64> {
    const END: [u8; 4] = *b"PK\x05\x06";
    let at = bytes.windows(END.len()).rposition(|w| w == END)?;
    let count = bytes.get(at + 10..at + 12)?;
    let count = u16::from_le_bytes([*count.first()?, *count.get(1)?]);
    (count != u16::MAX).then_some(count.into())
}

/// What stands before the entries of an array.
#[derive(Debug, PartialEq)]
struct Header {
    /// As NumPy writes types: `<f4`.
    kind: String,
    /// The first index runs fastest.
    fortran: bool,
    shape: Vec<u64>,
}

/// Reads the header of an npy file: magic, version, length, and a dictionary of Python.
fn header(from: &mut impl Read) -> Result<Header, String> {
    let damaged = || "not an array of NumPy".to_owned();
    let mut start = [0; 8];
    from.read_exact(&mut start).map_err(|_| damaged())?;
    let [.., major, _] = start;
    if !start.starts_with(MAGIC) || !(1..=3).contains(&major) {
        return Err(damaged());
    }
    let length = if major == 1 {
        let mut length = [0; 2];
        from.read_exact(&mut length).map_err(|_| damaged())?;
        u16::from_le_bytes(length).into()
    } else {
        let mut length = [0; 4];
        from.read_exact(&mut length).map_err(|_| damaged())?;
        u32::from_le_bytes(length) as usize
    };
    if length > MOST_HEADER {
        return Err(format!("has a header of {length} bytes, and at most {MOST_HEADER} are read"));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).map_err(|_| damaged())?;
    let text = String::from_utf8(text).map_err(|_| damaged())?;
    let value = |key: &str| {
        let rest = text.split_once(&format!("'{key}'"))?.1;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let kind = value("descr").ok_or_else(damaged)?;
    let kind = match kind.strip_prefix('\'').and_then(|k| k.split_once('\'')) {
        Some((kind, _)) => kind.to_owned(),
        None => "of several fields".to_owned(),
    };
    let fortran = match value("fortran_order").ok_or_else(damaged)? {
        v if v.starts_with("False") => false,
        v if v.starts_with("True") => true,
        _ => return Err(damaged()),
    };
    let shape = value("shape").and_then(|s| s.strip_prefix('(')).and_then(|s| s.split_once(')'));
    let shape = shape.ok_or_else(damaged)?.0.split(',').map(str::trim).filter(|d| !d.is_empty());
    let shape = shape.map(str::parse).collect::<Result<Vec<u64>, _>>().map_err(|_| damaged())?;
    Ok(Header { kind, fortran, shape })
}

/// The type of entries that are read.
fn dtype(kind: &str) -> Option<Dtype> {
    Some(match kind {
        "<f2" => Dtype::F16,
        "<f4" => Dtype::F32,
        "<f8" => Dtype::F64,
        "|i1" => Dtype::I8,
        "<i2" => Dtype::I16,
        "<i4" => Dtype::I32,
        "<i8" => Dtype::I64,
        "|u1" => Dtype::U8,
        "|b1" => Dtype::BOOL,
        "<u2" => Dtype::U16,
        "<u4" => Dtype::U32,
        "<u8" => Dtype::U64,
        _ => return None,
    })
}

/// Entries whose first index runs fastest, with the last one fastest.
fn by_rows<T: Copy>(entries: &[T], shape: &[u64]) -> Vec<T> {
    let mut index = vec![0u64; shape.len()];
    let mut out = Vec::with_capacity(entries.len());
    for _ in 0..entries.len() {
        let at = index.iter().zip(shape).rev().fold(0, |at, (i, n)| at * n + i);
        out.extend(entries.get(at as usize));
        for (i, n) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(major: u8, dictionary: &str) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([major, 0]);
        match major {
            1 => out.extend((dictionary.len() as u16).to_le_bytes()),
            _ => out.extend((dictionary.len() as u32).to_le_bytes()),
        }
        out.extend(dictionary.as_bytes());
        out
    }

    #[test]
    fn headers_of_all_versions_are_read_and_damaged_ones_refused() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
        let wanted = Header { kind: "<f4".into(), fortran: false, shape: vec![3, 4] };
        for major in 1..=3 {
            assert_eq!(header(&mut npy(major, good).as_slice()).as_ref(), Ok(&wanted));
        }
        for (shape, wanted) in [("()", vec![]), ("(5,)", vec![5]), ("(0, 2)", vec![0, 2])] {
            let text = format!("{{'descr': '<i8', 'fortran_order': True, 'shape': {shape}, }}");
            let found = header(&mut npy(1, &text).as_slice()).expect("a header");
            assert_eq!((found.shape, found.fortran), (wanted, true));
        }
        let whole = npy(2, good);
        for length in 0..whole.len() {
            assert!(header(&mut &whole[..length]).is_err(), "{length} bytes");
        }
        for bad in [
            "",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
            "{'fortran_order': False, 'shape': (3,), }",
        ] {
            assert!(header(&mut npy(1, bad).as_slice()).is_err(), "{bad}");
        }
        let mut long = npy(2, good);
        long.splice(8..12, u32::MAX.to_le_bytes());
        assert!(header(&mut long.as_slice()).is_err_and(|e| e.contains("at most")));
    }

    #[test]
    fn the_order_of_fortran_becomes_that_of_rows() {
        // Columns of [[1, 2, 3], [4, 5, 6]].
        assert_eq!(by_rows(&[1, 4, 2, 5, 3, 6], &[2, 3]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(by_rows(&[7], &[]), [7]);
        let shape = [2u64, 3, 4];
        let at = |i: u64, j: u64, k: u64| i + 2 * (j + 3 * k);
        let of = |e: usize| at(e as u64 / 12, e as u64 / 4 % 3, e as u64 % 4);
        let wanted: Vec<u64> = (0..24).map(of).collect();
        assert_eq!(by_rows(&(0..24).collect::<Vec<u64>>(), &shape), wanted);
    }

    #[test]
    fn two_arrays_of_one_name_are_refused() {
        use std::io::Write;
        let mut made = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["first.npy", "other.npy"] {
            made.start_file(name, zip::write::SimpleFileOptions::default()).expect("begins");
            made.write_all(b"anything").expect("written");
        }
        let mut bytes = made.finish().expect("a file").into_inner();
        assert_eq!(Npz::open(&bytes).map(|npz| npz.names().len()), Ok(2));
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(b"other") {
                bytes[at..at + 5].copy_from_slice(b"first");
            }
        }
        assert_eq!(Npz::open(&bytes).err(), Some("has two arrays of one name".into()));
    }
}
