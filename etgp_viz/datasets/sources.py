"""Where the published files are, and their checksums.

The sha256 are those of copies at hand. Archives at the addresses are not known by checksum: what is
taken out of them is.
"""

from etgp_viz.datasets.fetch import Source

UCI = "https://archive.ics.uci.edu"

VOWEL = Source(
    file="vowel/vowel-context.data",
    page=f"{UCI}/dataset/152",
    urls=(
        f"{UCI}/static/public/152/connectionist+bench+vowel+recognition+deterding+data.zip",
        f"{UCI}/ml/machine-learning-databases/undocumented/connectionist-bench/vowel/"
        "vowel-context.data",
    ),
    limit=5_000_000,
    sha256="2e95c7be6c5800583b16d15ad36fd21f9681030b69bf96aa6aeab6f4f2f0726d",
    fields_sha256="fbcdc7a38893d512842e74ad385e07bf0d192ca7089263faf5326c8c72205c27",
)

ABSENTEEISM = Source(
    file="absenteeism/Absenteeism_at_work.csv",
    page=f"{UCI}/dataset/445",
    urls=(
        f"{UCI}/static/public/445/absenteeism+at+work.zip",
        f"{UCI}/ml/machine-learning-databases/00445/Absenteeism_at_work_AAA.zip",
    ),
    limit=5_000_000,
    sha256="8033a31831f8359ba6b6bff667deebd5958511bd5f008983ef45dc7bfabfcb5b",
    fields_sha256="9ac8ca051babc7aa7415a9d5f7b45945b0cd1140d967e3afc862221d1ce264b8",
)

AVILA_URLS = (
    f"{UCI}/static/public/459/avila.zip",
    f"{UCI}/ml/machine-learning-databases/00459/avila.zip",
)
AVILA_TRAIN = Source(
    file="avila/avila-tr.txt",
    page=f"{UCI}/dataset/459",
    urls=AVILA_URLS,
    limit=20_000_000,
    sha256="493332af20f750a6b0f7b0c581dd2236bb68a8ace52b412aea1c9c82b2076357",
    fields_sha256="26fb56316d157ad5860bdc64642879b68addbf1553b4b7155dbbf459b036d044",
)

AVILA_TEST = Source(
    file="avila/avila-ts.txt",
    page=f"{UCI}/dataset/459",
    urls=AVILA_URLS,
    limit=20_000_000,
    sha256="0ec227d595dd8d8dc6804a7139c8b6d6e00e21aaea0d9052085057aa98c3e589",
    fields_sha256="207ddd99523c17664bc46863934bcf7405ffb3827252bf90f3b6fb3ab06fea03",
)

LEAVES = Source(
    file="leaves100/data_Mar_64.txt",
    page=f"{UCI}/dataset/241",
    urls=(
        f"{UCI}/static/public/241/one+hundred+plant+species+leaves+data+set.zip",
        f"{UCI}/ml/machine-learning-databases/00241/100%20leaves%20plant%20species.zip",
    ),
    limit=200_000_000,  # the archive holds the leaves' images too
    sha256="d474bdc920250745942312eb8ccf745ff4b665a59952f073572cd73cb253ba59",
    fields_sha256="9f870d0f08160082e81eea734f45287df938398879e28b31f50effc3ffa64056",
)

DEVANGARI = Source(
    file="devangari/DevanagariHandwrittenCharacterDataset.zip",
    page=f"{UCI}/dataset/389",
    urls=(
        f"{UCI}/static/public/389/devanagari+handwritten+character+dataset.zip",
        f"{UCI}/ml/machine-learning-databases/00389/DevanagariHandwrittenCharacterDataset.zip",
    ),
    limit=300_000_000,
)

CHARACTERFONT = Source(
    file="characterfont/fonts.zip",
    page=f"{UCI}/dataset/417",
    urls=(
        f"{UCI}/static/public/417/character+font+images.zip",
        f"{UCI}/ml/machine-learning-databases/00417/fonts.zip",
    ),
    limit=1_000_000_000,
)

#: data set → the files that it is made of
FILES = {
    "vowel": (VOWEL,),
    "absenteeism": (ABSENTEEISM,),
    "avila": (AVILA_TRAIN, AVILA_TEST),
    "leaves100": (LEAVES,),
    "devangari": (DEVANGARI,),
    "characterfont": (CHARACTERFONT,),
}
