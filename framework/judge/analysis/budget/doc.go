// Package budget recomputes, for each eviction that was accepted or refused, how many healthy pods it left and how many each
// PodDisruptionBudget demanded at that moment.
//
// It follows the disruption controller's arithmetic and the eviction API's rules, not the budget's recorded status, which may be
// stale. Events of different watches within evidence.WatchSkew may have happened in either order: an eviction that broke a
// budget in one order only is unknown. Only evictions are bound by budgets. Node losses, rollouts and direct deletions are
// counted (Timeline), but never break one. It does not judge: invariant.BudgetHonoured does.
package budget
