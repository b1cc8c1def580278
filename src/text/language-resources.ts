/**
 * How much labelled and unlabelled data a language had in 2020: class 0 (hardly any) to 5 (most). Joshi et al. 2020, "The state and
 * fate of linguistic diversity and inclusion in the NLP world" (arXiv 2004.09095), their list lang2tax, which names languages in
 * English; here by the tags that CLDR has for these names. Of several varieties of one language the best supplied one counts.
 */
const classes: readonly string[] = [
  'aa agq ain akz aro arw awa bal ban bax bej bfd bfq bin brh brx bua bum cad cay chk cho chp cic cop ' +
    'crg dak dar doi dua dyu efi ewo gay gon guz hai hil hnj ho hur hz iba ibb jmc kde ken kgp kha khw ' +
    'kos kpe kru kum kut kxv lil lol loz lun lus luy lzz mag mdr men mh mnc moh mwv mzn nds ng nia nus ' +
    'nym oj oka osa pau pcm rap rtm sbp see seh sei sel ses shn sly snk ssy suk sus swb tiv tkr tli tly ' +
    'tmh trw tsi umb vai vot wal was yap zap zen zun',
  'ab ace ady ak an ang arc as ast atj av ay az ba bar bho bi bik bjn bm bo bpy br bug ce ch chm chr ' +
    'chy ckb co cr crh csb cu cv cy din dsb dv dz ee eo ext ff fj fo frp frr fur fy gag gan gd glk gn gor ' +
    'got gsw gu gv hak haw hif hsb hy ia ie ig ik ilo inh io iu jam jv kaa kab kbd kg ki kl km kn koi krc ' +
    'ks ksh ku kv kw ky lad lb lez lg li lij lmo ln lrc ltg lzh mai mdf mg mi min mk ml mn mrj mwl my myv ' +
    'na nan nap nb ne new nn nso nv ny oc om or os pag pam pap pcd pi pms pnt ps qu rm rn rom rue rup rw ' +
    'sah sat sc scn sco sd se sg sgs si sm sn so sq srn ss st stq su szl tcy te tet tg tk to tpi ts tt ' +
    'tum ty tyv udm ug ve vec vep vls vo vro wa war wuu xal xmf yi yue za zea zza',
  'am ga ha ht is kok lah lo mr mt pa sa sw ti tn wo xh yo zu',
  'af arz be bg bn bs ceb da el et fil gl he id ka kk la lt lv ms ro sk sl ta th uk ur uz',
  'ca cs eu fa fi hi hr hu it ko nl pl pt ru sr sv tr vi',
  'ar de en es fr ja zh',
]

const classOf = new Map(classes.flatMap((tags, level) => tags.split(' ').map((tag) => [tag, level] as const)))

/** Resource class of a base language, 0 to 5; null for one that is not listed. */
export function resourceClass(language: string): number | null {
  return classOf.get(language) ?? null
}
