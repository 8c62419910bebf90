/** Channels by which a loop is told to pause and to go on, by the name of its run. */
export const LOOP_CHANNELS = {
  pause: (run: string): string => `loop/${run}/pause`,
  /** Of every loop. */
  all: 'loop/*',
  resume: (run: string): string => `loop/${run}/resume`,
} as const;
