/** What a file of settings can hold, in the order in which it is made: what others name comes before them. */
export const SETTINGS_KINDS = [
  'tags',
  'limits',
  'queues',
  'workers',
  'pools',
  'workflows',
  'schedules',
  'triggers',
] as const;
export type SettingsWord = (typeof SETTINGS_KINDS)[number];
