export interface WorkerLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
