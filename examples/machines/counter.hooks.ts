/** What the actions of counter.yml do. What an action returns is merged into the context. */
export function onAction(state: string, action: string, context: { readonly count: number }): object {
  if (action !== 'add_one') throw new Error(`${state} has the action ${action}, which is not here`);
  return { count: context.count + 1 };
}
