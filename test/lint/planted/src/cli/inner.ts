export const inner: unknown = 'cli';
