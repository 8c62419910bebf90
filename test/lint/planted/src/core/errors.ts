export const errors = 1;
