//! How countries write numbers: what `FORMAT(x, digits, locale)` knows of them.
//!
//! Source: MySQL manual, "MySQL Server Locale Support"; the marks are those of the C library.

/// The marks in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// Between groups of digits; empty when there are none.
    pub(super) group: &'static str,
    /// In front of the digits after the point.
    pub(super) point: &'static str,
    /// Digits of the groups before the last one, which has three.
    pub(super) group_digits: usize,
}

const fn marks(group: &'static str, point: &'static str) -> Marks {
    Marks {
        group,
        point,
        group_digits: 3,
    }
}

/// `en_US`, and what is used for an unknown locale.
pub(super) const DEFAULT: Marks = marks(",", ".");

const LOCALES: &[(Marks, &[&str])] = &[
    (
        DEFAULT,
        &[
            "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB",
            "ar_LY", "ar_MA", "ar_OM", "ar_QA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "en_AU",
            "en_CA", "en_GB", "en_NZ", "en_PH", "en_US", "en_ZA", "en_ZW", "es_DO", "es_GT",
            "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_SV", "es_US", "gu_IN",
            "he_IL", "hi_IN", "ja_JP", "ko_KR", "ms_MY", "th_TH", "ur_PK", "zh_CN", "zh_HK",
            "zh_TW",
        ],
    ),
    (marks("", "."), &["ar_SA", "sr_RS"]),
    (
        marks(".", ","),
        &[
            "be_BY", "da_DK", "de_BE", "de_DE", "de_LU", "es_AR", "es_BO", "es_CL", "es_CO",
            "es_EC", "es_ES", "es_PY", "es_UY", "es_VE", "fo_FO", "hu_HU", "id_ID", "is_IS",
            "lt_LT", "mn_MN", "nb_NO", "no_NO", "ro_RO", "ru_UA", "sq_AL", "tr_TR", "uk_UA",
            "vi_VN",
        ],
    ),
    (
        marks(" ", ","),
        &[
            "bg_BG", "cs_CZ", "es_CR", "et_EE", "fi_FI", "lv_LV", "mk_MK", "ru_RU", "sk_SK",
            "sv_FI", "sv_SE",
        ],
    ),
    (
        marks("", ","),
        &[
            "ca_ES", "de_AT", "el_GR", "eu_ES", "fr_BE", "fr_CA", "fr_CH", "fr_FR", "fr_LU",
            "gl_ES", "hr_HR", "it_IT", "nl_BE", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "sl_SI",
        ],
    ),
    (marks("'", "."), &["de_CH"]),
    (marks("'", ","), &["it_CH", "rm_CH"]),
    (
        Marks {
            group: ",",
            point: ".",
            group_digits: 2,
        },
        &["en_IN", "ta_IN", "te_IN"],
    ),
];

/// The marks of a locale; `None` for an unknown one.
pub(super) fn find(name: &str) -> Option<Marks> {
    let found = LOCALES
        .iter()
        .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)));
    found.map(|(marks, _)| *marks)
}

impl Marks {
    /// A number of the form `-1234.5` with these marks.
    pub(super) fn write(self, number: &str) -> String {
        let (whole, fraction) = number
            .split_once('.')
            .map_or((number, None), |(whole, fraction)| (whole, Some(fraction)));
        let (sign, digits) = whole
            .strip_prefix('-')
            .map_or(("", whole), |digits| ("-", digits));
        let mut out = sign.to_owned();
        for (idx, digit) in digits.chars().enumerate() {
            // Digits that still follow, beyond the last three.
            let left = (digits.len() - idx).checked_sub(3);
            if idx != 0 && left.is_some_and(|left| left.is_multiple_of(self.group_digits)) {
                out.push_str(self.group);
            }
            out.push(digit);
        }
        if let Some(fraction) = fraction {
            out.push_str(self.point);
            out.push_str(fraction);
        }
        out
    }
}
