export const inner: unknown = 'protocol';
