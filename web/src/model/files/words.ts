/** How an artifact is told: how large it is, what its name ends with, and what to type before it is removed. */

/** In the units that people read: `812 bytes`, `4.2 kB`, `12 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  let rest = bytes / 1000;
  for (const unit of ['kB', 'MB', 'GB']) {
    // 999.96 would be written as 1000.
    if (rest < 999.5) return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest).toLocaleString('en')} TB`;
}

export function usageText({ entries, bytes }: { readonly entries: number; readonly bytes: number }): string {
  return `${entries.toLocaleString('en')} ${entries === 1 ? 'artifact' : 'artifacts'}, ${sizeText(bytes)}`;
}

/** The last part of a name, under which a browser saves the file. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** What somebody types to confirm: the name, or the end of the id where the name cannot be typed or is long. */
export function confirmWord({ id, name }: { readonly id: string; readonly name: string }): string {
  const base = baseName(name);
  return /^[\w.+@=-]{1,40}$/.test(base) ? base : id.slice(-8);
}
