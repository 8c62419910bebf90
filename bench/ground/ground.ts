/** Where the databases of a run lie: files in a folder, or a server. A place is what a contender opens: a path or an address. */
export interface Ground {
  /** What it is, for the head of the results. */
  readonly version: string;
  /** Files and folders of the run. */
  readonly folder: string;
  /** An empty place, or a copy of another one that nobody has open. */
  create(name: string, like?: string): Promise<string>;
  remove(place: string): Promise<void>;
  /** What a database would do by itself within a minute after so many pushes: brings its statistics up to date. */
  analyze(place: string): Promise<void>;
  /** The same, and frees what deleted rows took: before a place that lasts is measured for the first time. */
  vacuum(place: string): Promise<void>;
  /** CPU time (µs) that a server has used since its start; 0 without one. */
  serverMicros(): number;
  /** Holds a snapshot of this place open until the returned function is called. */
  holdSnapshot(place: string): Promise<() => Promise<void>>;
  close(): void;
}
