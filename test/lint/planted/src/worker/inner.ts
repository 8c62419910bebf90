export const inner: unknown = 'worker';
