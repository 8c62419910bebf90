export function onAction(_state: string, _action: string, context: { readonly title: string | null }): object {
  if (context.title === null) throw new TypeError('this paper has no title');
  return { words: context.title.split(' ').length };
}
