import { readCldrCore } from './cldr.js'

interface LanguageGroups {
  supplemental: { languageGroups: Record<string, string> }
}

/** Names of the outermost groups of ISO 639-5 (and of what CLDR leaves outside all of them). */
const names: Readonly<Record<string, string>> = {
  aav: 'Austroasiatic',
  afa: 'Afro-Asiatic',
  art: 'constructed',
  aus: 'Australian',
  cai: 'indigenous languages of Central America',
  cau: 'Caucasian',
  cpe: 'English-based creole',
  crp: 'creole',
  dra: 'Dravidian',
  esx: 'Eskimo-Aleut',
  euq: 'Basque',
  hmx: 'Hmong-Mien',
  ine: 'Indo-European',
  jpx: 'Japonic',
  khi: 'Khoisan',
  map: 'Austronesian',
  nai: 'indigenous languages of North America',
  nic: 'Niger-Congo',
  paa: 'Papuan',
  sai: 'indigenous languages of South America',
  sgn: 'sign language',
  sit: 'Sino-Tibetan',
  ssa: 'Nilo-Saharan',
  tai: 'Tai',
  tup: 'Tupi',
  trk: 'Turkic',
  tut: 'Altaic',
  tuw: 'Tungusic',
  urj: 'Uralic',
  xgn: 'Mongolic',
  ypk: 'Yupik',
}

/** Languages that CLDR's groups leave out. */
const others: Readonly<Record<string, string>> = {
  ast: 'ine',
  kgp: 'sai',
  kxv: 'dra',
  mt: 'afa',
  rw: 'nic',
  sq: 'ine',
}

let parents: Map<string, string> | undefined

/**
 * The family of a base language, in English, by the groups of ISO 639-5 as CLDR nests them (those of the Americas are groups of
 * convenience); null for isolates and for languages in no group.
 *
 * @example languageFamily('yo') // 'Niger-Congo'
 */
export function languageFamily(language: string): string | null {
  if (!parents) {
    const { languageGroups } = readCldrCore<LanguageGroups>('supplemental/languageGroups.json').supplemental
    parents = new Map()
    for (const [group, members] of Object.entries(languageGroups))
      if (group !== 'mul') for (const member of members.split(' ')) parents.set(member, group)
  }
  let group: string | undefined = others[language] ?? parents.get(language)
  // Groups nest at most a handful deep.
  for (let depth = 0; depth < 20 && group !== undefined; depth++) {
    if (names[group]) return names[group]
    group = parents.get(group)
  }
  return null
}
