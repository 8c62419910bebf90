/** What is wrong with a machine, all of it, each with its place. */
export type Path = readonly (string | number)[];

export interface Problem {
  /** `error`: the machine cannot run. `warning`: it can, unless somebody asks for strictness. */
  readonly level: 'error' | 'warning';
  readonly path: Path;
  readonly message: string;
}

export class Problems {
  readonly all: Problem[] = [];

  error(path: Path, message: string): void {
    this.all.push({ level: 'error', path, message });
  }

  warning(path: Path, message: string): void {
    this.all.push({ level: 'warning', path, message });
  }
}

/** `data.states.start.transitions[0].to` */
export function pathText(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('');
}
