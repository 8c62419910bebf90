export const inner: unknown = 'fleet';
