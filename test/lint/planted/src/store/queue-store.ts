export const queueStore = 1;
