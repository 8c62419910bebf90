/** Names that a scene and its processes share: each is a queue and a handler. */
export const LARGE = 'large';
export const FLOOD = 'flood';
/** What a claim of one who reads nothing asks for. */
export const STALLED_MAX = 16;
