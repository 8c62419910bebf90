export const inner: unknown = 'flow';
