/** Plain JSON: what may cross a network or a file. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }
