export const inner: unknown = 'operate';
